/** Numbers as people read them: `4 m 30 s`, `84 k`, `$4.20`. */

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined || Number.isNaN(milliseconds)) return "";
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** As above, but what took less than ten seconds is told to a tenth, and less than a tenth in ms. */
export function exactDuration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 100) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 10_000 ? `${(milliseconds / 1000).toFixed(1)} s` : duration(milliseconds);
}

export function tokens(count) {
  if (!count) return "0";
  if (count < 1000) return String(count);
  if (count < 9950) return `${(count / 1000).toFixed(1)} k`;
  if (count < 999_500) return `${Math.round(count / 1000)} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}

export function money(dollars) {
  if (dollars === null || dollars === undefined) return "";
  return `$${dollars.toFixed(dollars < 0.1 && dollars > 0 ? 4 : 2)}`;
}

/** The whole time, for a title. */
export function moment(iso) {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** Today only the time, else the day as well: `14:02`, `11-15 09:40`. */
export function shortMoment(iso) {
  const at = new Date(iso);
  if (!iso || Number.isNaN(at.getTime())) return "";
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.toDateString() === new Date().toDateString()
    ? time
    : `${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** To the second: `14:02:09`, and the day where it is another one. */
export function clockTime(iso) {
  const at = new Date(iso);
  return shortMoment(iso) ? `${shortMoment(iso)}:${two(at.getSeconds())}` : "";
}

/** The beginning of an id that tells it apart: `exec_8fa2`, `grp-…-b4e1`. */
export function shortId(id) {
  if (!id) return "";
  const group = /^grp-\d+-([0-9a-f]+)$/.exec(id);
  return group ? `grp-${group[1]}` : id.slice(0, id.indexOf("_") + 5);
}

export function median(numbers) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function two(number) {
  return String(number).padStart(2, "0");
}
