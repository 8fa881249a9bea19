import { define, number, text, texts } from '../../events/catalogue.ts'

const ofSkill = { kind: 'skill', changes: 'prompts', live: true, line: 'note' } as const
const shown = { name: text, version: number } as const

export const skillCreated = define('skill.created', { ...ofSkill, description: 'A skill was created', data: shown })
export const skillUpdated = define('skill.updated', {
  ...ofSkill,
  description: 'A skill changed',
  data: { ...shown, fields: texts },
})
export const skillDeleted = define('skill.deleted', {
  ...ofSkill,
  deletes: true,
  description: 'A skill was deleted',
  data: shown,
})
export const skillRestored = define('skill.restored', { ...ofSkill, description: 'A skill was restored', data: shown })
