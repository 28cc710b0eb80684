"""`python -m kumihimo` is `kumi`."""

from kumihimo.surfaces.cli.entry import main

if __name__ == "__main__":
    main()
