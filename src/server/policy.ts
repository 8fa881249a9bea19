import { type Rule, TUNNELS_TOOLSET } from '../auth/policy.ts'
import type { Feature } from '../feature.ts'
import { http } from '../http/context.ts'
import { documentedRoutes, routeAction, routesOf } from '../http/openapi.ts'
import type { Tool } from '../mcp/tool.ts'
import { toolsetNames } from '../mcp/toolsets.ts'
import type { Grantable } from '../services.ts'

interface PolicyRow {
  surface: string
  action: string
  kinds: string
  scope: string | null
  role: string | null
  /**
   * `self`: not while acting as someone else. `browser`: also not on a device that was signed in by a code. Minutes:
   * in a browser, and how recent the proof of identity must be.
   */
  proof: string | null
  /** It concerns the whole account of the caller, so a key that is bound to one organization is refused. */
  account: boolean
  /** A credential that is limited to projects may do it, in these projects. */
  limited: boolean
}

/** Action × credential kinds × scope × role, for every route and tool. */
export function policyTable(features: readonly Feature[], tools: readonly Tool[]): PolicyRow[] {
  const routes = features.flatMap((f) => (f.routes ? routesOf(f.routes(http())) : []))
  return [
    ...documentedRoutes(routes).map((route) => ({
      surface: `${route.method} ${route.path}`,
      action: routeAction(route),
    })),
    ...tools.flatMap(({ name, action, writing }) => [
      { surface: `tool ${name}`, action },
      ...(writing ? [{ surface: `tool ${name} with ${writing.fields.join(' or ')}`, action: writing.action }] : []),
    ]),
  ].map(({ surface, action: { id, rule } }) => ({
    surface,
    action: id,
    kinds: rule.kinds.join(','),
    scope: rule.scope,
    role: rule.admin ? 'instance admin' : rule.role,
    proof: requiredProof(rule),
    account: rule.account === true,
    limited: rule.limited === true && !rule.kinds.includes('anonymous'),
  }))
}

export interface RouteRow {
  method: string
  path: string
  action: string
  rule: string
}

/** Every documented route with its action and rule, in the order of the features. */
export const routeTable = (features: readonly Feature[]): RouteRow[] =>
  features.flatMap(({ routes }) =>
    documentedRoutes(routes ? routesOf(routes(http())) : []).map((route) => {
      const { id, rule } = routeAction(route)
      return { method: route.method, path: route.path, action: id, rule: describeRule(rule) }
    }),
  )

/** Returns a rule in a few words, such as `member, notes:write`. */
function describeRule(rule: Rule): string {
  if (rule.kinds.includes('anonymous')) return 'anyone'
  if (rule.kinds.includes('tunnel')) return 'machine of a tunnel'
  const who = rule.admin ? 'administrator' : (rule.role ?? (rule.scope ? 'depends on the record' : 'signed-in user'))
  return [rule.account ? 'own account' : who, rule.scope, describeProof(rule)].filter(Boolean).join(', ')
}

function describeProof(rule: Rule): string | null {
  if (rule.recent !== undefined) return `identity confirmed in the last ${rule.recent} min`
  if (rule.interactive) return 'in a browser'
  return rule.own ? 'not while impersonated' : null
}

export const requiredProof = ({ recent, interactive, own }: Rule): string | null =>
  recent !== undefined ? `${recent} min` : interactive ? 'browser' : own ? 'self' : null

/** Returns what credentials can be limited to. It builds all routes when someone first asks, because few do. */
export function grantableBy(features: readonly Feature[], tools: readonly Tool[]): Grantable {
  let resources: ReadonlySet<string> | undefined
  return {
    get resources() {
      resources ??= new Set(policyTable(features, tools).flatMap(({ scope }) => scope?.split(':')[0] ?? []))
      return resources
    },
    toolsets: new Set([TUNNELS_TOOLSET, ...toolsetNames]),
  }
}
