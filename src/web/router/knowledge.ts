/** What the team knows. */
import { lazyPage } from '../lazy.ts'
import { decisionSearch } from '../routes/decisions/search.ts'
import { memorySearch } from '../routes/memories/search.ts'
import { noteSearch } from '../routes/notes/search.ts'
import { skillSearch } from '../routes/skills/search.ts'
import { specSearch } from '../routes/spec/search.ts'
import { specsSearch } from '../routes/specs/search.ts'
import { page, pageWith } from './inside.ts'

/** `edit`: open it for writing. */
const writing = ({ edit }: Record<string, unknown>): { edit?: true } => (edit === true ? { edit } : {})

export const knowledge = [
  pageWith(
    '/notes',
    noteSearch,
    lazyPage(() => import('../routes/notes/page.tsx'), 'NotesPage'),
  ),
  pageWith(
    '/notes/$id',
    writing,
    lazyPage(() => import('../routes/note/page.tsx'), 'NotePage'),
  ),
  pageWith(
    '/memories',
    memorySearch,
    lazyPage(() => import('../routes/memories/page.tsx'), 'MemoriesPage'),
  ),
  page(
    '/memories/$id',
    lazyPage(() => import('../routes/memory/page.tsx'), 'MemoryPage'),
  ),
  pageWith(
    '/decisions',
    decisionSearch,
    lazyPage(() => import('../routes/decisions/page.tsx'), 'DecisionsPage'),
  ),
  page(
    '/decisions/$id',
    lazyPage(() => import('../routes/decision/page.tsx'), 'DecisionPage'),
  ),
  pageWith(
    '/specs',
    specsSearch,
    lazyPage(() => import('../routes/specs/page.tsx'), 'SpecsPage'),
  ),
  pageWith(
    '/specs/$id',
    specSearch,
    lazyPage(() => import('../routes/spec/page.tsx'), 'SpecPage'),
  ),
  pageWith(
    '/skills',
    skillSearch,
    lazyPage(() => import('../routes/skills/page.tsx'), 'SkillsPage'),
  ),
  page(
    '/skills/$id',
    lazyPage(() => import('../routes/skill/page.tsx'), 'SkillPage'),
  ),
] as const
