import type { Ctx } from './action.ts'

/** Whether the caller can run commands: it is the command line, or an agent's program behind `tutti mcp`. */
const canRunCommands = ({ userAgent }: Pick<Ctx, 'userAgent'>): boolean => /^tutti\//.test(userAgent ?? '')

/** Returns the command that ends when a record has reached a state, for callers who can run it. */
export const waitCommand = (ctx: Pick<Ctx, 'userAgent'>, ref: string, state: string): string | undefined =>
  canRunCommands(ctx) ? `tutti wait ${ref} --until ${state}` : undefined
