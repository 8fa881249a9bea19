/** Pages of notes, memories, decisions, specs and skills. */
import { decisionSearch } from '../routes/decisions/search.ts'
import { memorySearch } from '../routes/memories/search.ts'
import { noteSearch } from '../routes/notes/search.ts'
import { skillSearch } from '../routes/skills/search.ts'
import { specSearch } from '../routes/spec/search.ts'
import { specsSearch } from '../routes/specs/search.ts'
import { page, pageWith } from './inside.ts'

/** `edit`: open it for writing. */
const writing = ({ edit }: Record<string, unknown>): { edit?: true } => (edit === true ? { edit } : {})

export const knowledgePages = [
  pageWith('/notes', noteSearch, () => import('../routes/notes/page.tsx'), 'NotesPage'),
  pageWith('/notes/$id', writing, () => import('../routes/note/page.tsx'), 'NotePage'),
  pageWith('/memories', memorySearch, () => import('../routes/memories/page.tsx'), 'MemoriesPage'),
  page('/memories/$id', () => import('../routes/memory/page.tsx'), 'MemoryPage'),
  pageWith('/decisions', decisionSearch, () => import('../routes/decisions/page.tsx'), 'DecisionsPage'),
  page('/decisions/$id', () => import('../routes/decision/page.tsx'), 'DecisionPage'),
  pageWith('/specs', specsSearch, () => import('../routes/specs/page.tsx'), 'SpecsPage'),
  pageWith('/specs/$id', specSearch, () => import('../routes/spec/page.tsx'), 'SpecPage'),
  pageWith('/skills', skillSearch, () => import('../routes/skills/page.tsx'), 'SkillsPage'),
  page('/skills/$id', () => import('../routes/skill/page.tsx'), 'SkillPage'),
] as const
