"""PostgreSQL in real life: lines that are cut, servers that change, poolers, roles and versions."""
