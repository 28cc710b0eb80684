/** What is being fetched for a view, told to who can't see that it is not there yet. */

let count = 0;

/** Do something, and mark the content as busy for as long as it takes. */
export async function loading(doing) {
  const main = document.getElementById("main");
  count += 1;
  main?.setAttribute("aria-busy", "true");
  try {
    return await doing();
  } finally {
    count -= 1;
    if (!count) main?.removeAttribute("aria-busy");
  }
}
