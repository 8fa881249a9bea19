/** The order that clients see, by category. The list is fixed, because clients cache it. */
const order = [
  ['create_agent', 'list_agents', 'get_agent', 'update_agent', 'delete_agent'],
  ['create_task', 'list_tasks', 'update_task', 'complete_task', 'delete_task', 'get_task', 'next_task', 'claim_task'],
  ['create_project', 'list_projects', 'get_project', 'update_project', 'archive_project', 'create_plan'],
  ['store_memory', 'search_memory', 'list_memories', 'delete_memory', 'clear_memory'],
  ['log_activity', 'list_activities', 'get_activity'],
  ['log_decision', 'list_decisions', 'get_decision'],
  ['create_session', 'resume_session', 'end_session', 'list_sessions', 'get_context'],
  ['create_note', 'list_notes', 'update_note', 'delete_note', 'get_note'],
  ['create_feature', 'advance_feature', 'submit_review', 'list_features', 'get_feature', 'get_skill'],
  ['create_spec', 'list_specs', 'update_spec', 'get_spec'],
  ['connect_repo', 'create_pr', 'generate_agents_md', 'list_repos', 'sync_repo'],
].flat()

/** Sorts the tools. Throws for one that is missing from the list above. */
export function inOrder<T extends { name: string }>(tools: readonly T[]): T[] {
  const missing = tools.find(({ name }) => !order.includes(name))
  if (missing) throw new Error(`${missing.name} is missing from the order of tools in src/mcp/order.ts`)
  return [...tools].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
}
