import { jsonObject, object, optional, text } from '../../schema.ts'
import { ActionFailure, type ActionHandler } from '../actions/action.ts'
import { checkedHandler } from '../actions/handlers.ts'
import { type LocalMcp, McpRefusal } from './local-mcp.ts'

const server = text(30, { minLength: 1 })
const ListTools = object({ server })
const CallTool = object({ server, tool: text(200, { minLength: 1 }), arguments: optional(jsonObject()) })

/** The actions of local MCP servers. `LocalMcp` checks what the caller may use. */
export const mcpHandlers = (mcp: LocalMcp): Record<string, ActionHandler> => ({
  list_tools: checkedHandler(ListTools, ({ server: name }, { user, signal }) =>
    withActionFailure(mcp.tools(user, name, signal).then((tools) => ({ tools }))),
  ),
  call_tool: checkedHandler(CallTool, async ({ server: name, tool, arguments: args = {} }, { user, signal }) => {
    const result = await withActionFailure(mcp.call({ user, name, tool, args, signal }))
    if (result.isError === true) throw new ActionFailure('failed', 'The tool returned an error.', result)
    return result
  }),
})

const withActionFailure = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    if (!(error instanceof McpRefusal)) throw error
    throw new ActionFailure(error.reason === 'refused' ? 'refused' : 'failed', error.message)
  })
