// Replaces the content every few seconds and keeps what the reader folded. Without
// script, the browser reloads the page instead.
(function () {
  var main = document.querySelector("main");
  var seconds = Number(main.dataset.refresh) || 5;
  var lost = document.getElementById("lost");
  var since = null;
  async function refresh() {
    if (document.hidden) return;
    try {
      var response = await fetch(location.pathname, { cache: "no-store" });
      if (!response.ok) throw new Error(response.status);
      var next = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("main");
      main.querySelectorAll("details").forEach(function (was) {
        var d = next.querySelector("details[id=" + JSON.stringify(was.id) + "]");
        if (d) d.open = was.open;
      });
      var selection = String(getSelection());
      if (!selection) main.innerHTML = next.innerHTML;
      since = null;
      lost.hidden = true;
    } catch (e) {
      since = since || new Date();
      lost.hidden = false;
      lost.querySelector("time").textContent = since.toLocaleTimeString();
    }
  }
  setInterval(refresh, seconds * 1000);
  document.addEventListener("visibilitychange", refresh);
})();
