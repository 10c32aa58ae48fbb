// The Live tab: refreshed every few seconds while it is visible.
const EVERY_MS = 3000;
let looking = false;
let asking = false;

async function look() {
  if (!looking || asking || document.hidden || !element.isConnected) return;
  asking = true;
  try {
    const told = await call("live", {});
    $("panel").innerHTML = told.html; // made by the server; every name in it is escaped (ui/charts.py, ui/live.py)
    $("live-problem").replaceChildren();
  } catch (error) {
    const problem = error.told || unreachable(error.message).told;
    if (problem.status === 401) enter(look);
    $("live-problem").replaceChildren(problemBox(problem));
  } finally { asking = false; }
}
setInterval(look, EVERY_MS);
document.addEventListener("visibilitychange", look);
rewriters.push(look);
tabs($("tab-read").parentElement, (name) => { looking = name === "live"; look(); showJobs(name === "jobs"); });
