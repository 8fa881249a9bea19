import type { App, Ctx } from './services.ts'

/**
 * A place where a lower feature lets features above it take part without importing them. The lower feature declares the
 * hook and calls it; an upper feature lists `someHook.handle(…)` in the `hooks` of its index.ts.
 */
export interface Hook<I, O> {
  readonly name: string
  /** Creates the entry that an upper feature lists in `Feature.hooks`. */
  handle(handler: HookHandler<I, O>): HookRegistration
  /** Calls the handlers one after the other and returns their results. No handler may depend on the order. */
  call(ctx: Ctx, input: I): Promise<O[]>
}

type HookHandler<I, O> = (ctx: Ctx, input: I) => O | Promise<O>

export interface HookRegistration {
  readonly name: string
  readonly handler: HookHandler<never, unknown>
}

export function hook<I, O = void>(name: string): Hook<I, O> {
  return {
    name,
    handle: (handler) => ({ name, handler }),
    async call(ctx, input) {
      const results: O[] = []
      for (const handler of ctx.app.hooks.get(name) ?? [])
        results.push(await (handler as HookHandler<I, O>)(ctx, input))
      return results
    },
  }
}

export const gatherHooks = (registrations: readonly HookRegistration[]): App['hooks'] =>
  new Map(
    [...Map.groupBy(registrations, ({ name }) => name)].map(([name, group]) => [name, group.map((r) => r.handler)]),
  )
