import { read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import access from './pages/access.md' with { type: 'text' }
import api from './pages/api.md' with { type: 'text' }
import cli from './pages/cli.md' with { type: 'text' }
import features from './pages/features.md' with { type: 'text' }
import knowledge from './pages/knowledge.md' with { type: 'text' }
import mcp from './pages/mcp.md' with { type: 'text' }
import memory from './pages/memory.md' with { type: 'text' }
import operating from './pages/operating.md' with { type: 'text' }
import planning from './pages/planning.md' with { type: 'text' }
import sessions from './pages/sessions.md' with { type: 'text' }
import start from './pages/start.md' with { type: 'text' }
import type { ManualList, ManualPage } from './schema.ts'

/** A page of the manual, which is part of the binary. Its first heading is its title. */
const page = (id: string, content: string): ManualPage => ({ id, title: /^# (.+)$/m.exec(content)?.[1] ?? id, content })
const pages = [
  page('start', start),
  page('cli', cli),
  page('access', access),
  page('planning', planning),
  page('features', features),
  page('knowledge', knowledge),
  page('memory', memory),
  page('sessions', sessions),
  page('mcp', mcp),
  page('api', api),
  page('operating', operating),
]

export const list = read(
  'manual.list',
  anyone,
  async (_ctx, _: Record<string, never>): Promise<ManualList> => ({
    items: pages.map(({ id, title }) => ({ id, title })),
    nextCursor: null,
  }),
)

export const get = read('manual.get', anyone, async (_ctx, { id }: { id: string }): Promise<ManualPage> => {
  const found = pages.find((p) => p.id === id)
  if (!found) throw notFound('manual_page', id)
  return found
})
