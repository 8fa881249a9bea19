import { hook } from '../hooks.ts'

/** A prompt that a person selects in the menu of their agent. */
interface PromptSummary {
  slug: string
  name: string
  description: string | null
  /** Who wrote it; null if they have left. */
  author: string | null
  arguments: string[]
}

interface PromptPage {
  items: PromptSummary[]
  nextCursor: string | null
}

type PromptText = Omit<PromptSummary, 'arguments'> & { text: string }

/** A task that the caller works on or is assigned to. */
export interface OwnTask {
  id: string
  key: string
  title: string
  status: string
  priority: string
  /** Keys of the tasks it waits for. */
  blockedBy: string[]
  lease: { holder: { name: string }; own: boolean; expiresAt: string } | null
}

/** Returns a page of the prompts that the caller sees. Handled by skills. */
export const listPrompts = hook<{ cursor?: string }, PromptPage>('mcp.listPrompts')

/** Returns a prompt with the given arguments filled in; throws not_found. Handled by skills. */
export const readPrompt = hook<{ ref: string; given: Readonly<Record<string, string>> }, PromptText>('mcp.readPrompt')

/** Returns the caller's open tasks, those they work on first. Handled by tasks. */
export const ownTasks = hook<Record<string, never>, OwnTask[]>('mcp.ownTasks')

/** Returns the caller's default project, if any: that of its session, else the token's. Handled by projects. */
export const callersProject = hook<Record<string, never>, { id: string; key: string } | undefined>('mcp.callersProject')

/** Returns the name of a user who can sign in. Handled by users. */
export const userName = hook<{ userId: string }, string | undefined>('mcp.userName')

/** A stream of the caller's token opened or closed. Handled by connections. */
export const connectionChanged = hook<{ connection: string; isOpen: boolean }>('mcp.connectionChanged')

/** A token is used by a program that this process has not reported yet; it may not name itself. Handled by tokens. */
export const clientIntroduced = hook<{ client?: string; version?: string }>('mcp.clientIntroduced')

/** A request to an MCP server of a machine. */
interface LocalMcpRequest {
  slug: string
  server: string
  request: Request
  /** The JSON-RPC message; undefined for GET and DELETE. */
  message?: { method?: unknown; params?: unknown }
}

/** Passes a request on to an MCP server of a machine. Handled by tunnels. */
export const localMcp = hook<LocalMcpRequest, Response>('mcp.localMcp')
