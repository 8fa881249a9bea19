/** Writes docs/routes.md: every route of the web API with its action and rule, by area. A test compares it. */
import { join } from 'node:path'
import { features } from '../../src/all-features.ts'
import { type RouteRow, routeTable } from '../../src/server/policy.ts'

const section = ([area, rows]: [string, RouteRow[]]): string => `## ${area}

| Method | Path | Action | Who may call it |
|---|---|---|---|
${rows.map(({ method, path, action, rule }) => `| ${method} | \`${path}\` | ${action} | ${rule} |`).join('\n')}
`

export const routesPage = (): string => `# Routes of the web API

\`bun cli/dev/routes.ts\` writes this page, and \`tutti config routes\` prints the same table. The reference with all
fields is at \`/api/reference\` on every server.

${[...Map.groupBy(routeTable(features), ({ action }) => action.split('.')[0] as string)].map(section).join('\n')}`

if (import.meta.main) await Bun.write(join(import.meta.dir, '../../docs/routes.md'), routesPage())
