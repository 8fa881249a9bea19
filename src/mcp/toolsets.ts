/**
 * All tools by category, in the order that clients see. The order is fixed, because clients cache the list. Each
 * category is also a toolset.
 */
const categories = {
  agents: 'create_agent list_agents get_agent update_agent delete_agent',
  tasks: 'create_task list_tasks update_task complete_task delete_task get_task next_task claim_task',
  projects: 'create_project list_projects get_project update_project archive_project create_plan',
  memory: 'store_memory search_memory list_memories delete_memory clear_memory',
  activity: 'log_activity list_activities get_activity',
  decisions: 'log_decision list_decisions get_decision',
  sessions: 'create_session resume_session end_session list_sessions get_context',
  notes: 'create_note list_notes update_note delete_note get_note',
  workflows: 'create_feature advance_feature submit_review list_features get_feature get_skill',
  specs: 'create_spec list_specs update_spec get_spec',
  code: 'connect_repo create_pr generate_agents_md list_repos sync_repo',
}

/** What most agents need: plan, take, finish and find work, remember, decide, resume. */
const core =
  'create_plan create_task list_tasks get_task next_task claim_task update_task complete_task ' +
  'store_memory search_memory log_decision get_context resume_session'
/** A working day: also end a session, look up decisions and activity, and move features through their gates. */
const work = `${core} end_session list_decisions get_decision list_activities create_feature advance_feature`

/** The tools of each toolset. The first two are selections across categories. */
const toolsets: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({ core, work, ...categories }).map(([name, tools]) => [name, tools.split(' ')]),
)
/** THE LIST OF TOOLSETS, for tokens, addresses, the command line and the manual. */
export const toolsetNames: readonly string[] = [...toolsets.keys()]

/** The category of each tool. */
const categoryOf = new Map(
  Object.entries(categories).flatMap(([category, tools]) => tools.split(' ').map((tool) => [tool, category])),
)
/** All tools, in the order that clients see. */
export const toolNames: readonly string[] = [...categoryOf.keys()]

/** Whether a selection of toolsets includes the tool. An empty selection includes every tool. */
export const includesTool = (selected: readonly string[], { name, toolset }: { name: string; toolset: string }) =>
  selected.length === 0 || selected.some((one) => one === toolset || toolsets.get(one)?.includes(name))

/** Sorts the tools. Throws for one that is missing from its category above. */
export function sortTools<T extends { name: string; toolset: string }>(tools: readonly T[]): T[] {
  const missing = tools.find(({ name, toolset }) => categoryOf.get(name) !== toolset)
  if (missing) throw new Error(`${missing.name} is missing from ${missing.toolset} in src/mcp/toolsets.ts`)
  return [...tools].sort((a, b) => toolNames.indexOf(a.name) - toolNames.indexOf(b.name))
}
