/** Start a group: prompts and roles, stages as rows, and before it starts what will be refused and why. */

import { perform } from "./api.js";
import { button } from "./badge.js";
import { chosenProject } from "./choices.js";
import { openDialog } from "./dialog.js";
import { field, select } from "./fields.js";
import { isDialogOpen } from "./keys.js";
import { element, setHidden, setText } from "./element.js";
import { fetchRoles, fetchStatus } from "./fetched.js";
import { attempt, tell } from "./notices.js";
import { problems, readPlan } from "./plan.js";
import { go } from "./router.js";
import { shapeOf } from "./states.js";
import { store } from "./store.js";
import { clean } from "./text.js";
import { words } from "./words.js";

export async function openStartDialog() {
  if (isDialogOpen()) return;
  const dialog = new StartDialog();
  await Promise.all([fetchStatus(), fetchRoles()]);
  dialog.known();
}

class StartDialog {
  constructor() {
    this.description = element("input", { autocomplete: "off", placeholder: words("start.description_hint") });
    this.names = element("datalist", { id: "role-names" });
    this.stages = element("ol", { class: "plan" });
    this.worktree = element("input", { type: "checkbox" });
    this.failure = select([
      ["continue", words("start.go_on")],
      ["stop", words("start.give_up")],
    ]);
    this.project = select([], null);
    this.projectField = field(words("task.project"), this.project);
    this.worktreeField = element("label", { class: "check" }, this.worktree, words("start.worktree"));
    this.failureField = field(words("start.on_failure"), this.failure);
    this.told = element("ul", { class: "problems", "aria-live": "polite" });
    this.startButton = element("button", { class: "button primary", type: "submit" }, words("start.start"));
    const form = element(
      "form",
      { class: "start", onsubmit: (event) => (event.preventDefault(), this.start()), oninput: () => this.look() },
      field(words("start.description"), this.description),
      this.names,
      element("p", { class: "muted" }, words("start.paste_hint")),
      this.stages,
      element(
        "div",
        { class: "acts" },
        button(words("start.add_stage"), () => this.addStage()),
      ),
      element("div", { class: "fields" }, this.worktreeField, this.failureField, this.projectField),
      this.told,
      element(
        "footer",
        {},
        button(words("cancel"), () => this.window.close()),
        this.startButton,
      ),
    );
    form.addEventListener("paste", (event) => this.paste(event));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.start();
    });
    this.window = openDialog(words("start.title"), [form], { wide: true });
    this.addStage();
    this.known();
    this.description.focus();
  }

  /** Roles, slots and projects, once they have been fetched. */
  known() {
    this.names.replaceChildren(
      ...store.roles.map((role) =>
        element("option", { value: clean(role.name) }, clean(role.description || role.client)),
      ),
    );
    const chosen = this.project.value || chosenProject() || store.projects[0]?.projectId;
    this.project.replaceChildren(
      ...store.projects.map((one) => element("option", { value: one.projectId }, clean(one.name))),
    );
    if (chosen) this.project.value = chosen;
    setHidden(this.projectField, store.projects.length < 2);
    this.look();
  }

  addStage(wishes = [null]) {
    const rows = element("ul", { class: "wishes" });
    const title = element("h3", {});
    const add = (wish) => {
      rows.append(this.wishRow(rows, wish));
      this.number();
    };
    const stage = element(
      "li",
      { class: "plan-stage" },
      title,
      rows,
      button(words("start.add_agent"), () => {
        add(null);
        rows.lastChild.querySelector("input").focus();
      }),
    );
    this.stages.append(stage);
    for (const wish of wishes) add(wish);
    if (this.stages.children.length > 1) rows.querySelector("input").focus();
  }

  wishRow(rows, wish) {
    const role = element("input", {
      list: "role-names",
      class: "role",
      placeholder: words("start.role"),
      autocomplete: "off",
      spellcheck: "false",
    });
    const prompt = element("textarea", { class: "prompt-text", rows: "2", placeholder: words("start.prompt") });
    const folder = element("input", {
      class: "folder",
      placeholder: words("start.folder"),
      autocomplete: "off",
      spellcheck: "false",
    });
    role.value = wish?.role ?? "";
    prompt.value = wish?.prompt ?? "";
    const remove = button("×", () => this.remove(rows, row), { kind: "plain", label: words("start.remove") });
    const row = element("li", { class: "wish" }, role, prompt, folder, remove);
    return row;
  }

  remove(rows, row) {
    row.remove();
    if (!rows.children.length) rows.parentElement.remove();
    if (!this.stages.children.length) this.addStage();
    this.number();
  }

  /** Names for who listens, and a heading for each stage where there is more than one. */
  number() {
    const stages = [...this.stages.children];
    for (const [at, stage] of stages.entries()) {
      setText(
        stage.querySelector("h3"),
        stages.length > 1 ? words("now.stage", { stage: at + 1 }) : words("start.agents"),
      );
      for (const [place, row] of [...stage.querySelectorAll(".wish")].entries()) {
        const [role, prompt, folder] = row.querySelectorAll("input.role, textarea, input.folder");
        const where = { stage: at + 1, agent: place + 1 };
        role.setAttribute("aria-label", words("start.role_of", where));
        prompt.setAttribute("aria-label", words("start.prompt_of", where));
        folder.setAttribute("aria-label", words("start.folder_of", where));
      }
    }
    this.look();
  }

  /** A whole plan may be pasted at once. */
  paste(event) {
    const stages = readPlan(event.clipboardData.getData("text"), store.roles);
    if (!stages) return;
    event.preventDefault();
    this.stages.replaceChildren();
    for (const stage of stages) this.addStage(stage);
  }

  plan() {
    const wishes = (stage) =>
      [...stage.querySelectorAll(".wish")].map((row) => ({
        role: row.querySelector(".role").value.trim(),
        prompt: row.querySelector("textarea").value,
        folder: row.querySelector(".folder").value.trim(),
      }));
    const stages = [...this.stages.children].map(wishes);
    return { stages, worktree: stages.length === 1 && this.worktree.checked };
  }

  look() {
    const plan = this.plan();
    const staged = plan.stages.length > 1;
    setHidden(this.worktreeField, staged);
    setHidden(this.failureField, !staged);
    const found = problems(plan, store);
    this.told.replaceChildren(
      ...found.map((one) =>
        element(
          "li",
          { class: `state-${one.state}` },
          element("span", { class: "shape", "aria-hidden": "true" }, shapeOf(one.state)),
          " ",
          clean(one.text),
        ),
      ),
    );
    this.startButton.disabled = found.some((one) => one.refused);
  }

  async start() {
    this.look();
    if (this.startButton.disabled) return;
    this.startButton.disabled = true;
    await attempt(() => this.ask());
    this.look();
  }

  async ask() {
    const plan = this.plan();
    const where = { project: this.project.value || null };
    const mode = plan.stages.length > 1 ? "sequential" : "concurrent";
    const description = this.description.value.trim() || plan.stages[0][0].prompt.trim().slice(0, 80);
    const group = await perform("group/create", { description, mode }, where);
    await this.fill(group.groupId, plan, where).catch((error) => this.giveUp(group.groupId, error));
    this.window.close();
    tell(words("start.started"));
    go("#/now");
  }

  fill(group, plan, where) {
    const wish = (one) => ({
      role: one.role,
      prompt: one.prompt,
      ...(one.folder ? { workingDirectory: one.folder } : {}),
      ...(plan.worktree ? { worktree: true } : {}),
    });
    if (plan.stages.length === 1) return perform("group/run", { group, agents: plan.stages[0].map(wish) }, where);
    const stages = plan.stages.map((stage) => ({ tasks: stage.map(wish) }));
    return perform("group/plan", { group, stages, on_failure: this.failure.value }, where);
  }

  /** Nothing was started: the group that was made for it goes as well. */
  async giveUp(group, error) {
    await attempt(() => perform("group/delete", { group }));
    throw error;
  }
}
