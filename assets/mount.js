/* The last file: start what Gradio has put on the page before this script came, and whatever comes later. */

watchTheme();
document.body.dataset.stage ??= "empty";
const early = window.tokenscopeParts ?? [];
window.tokenscopeParts = { push: mount };
early.forEach(mount);
