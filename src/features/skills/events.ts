import { defineEvent, number, text, texts } from '../../events/catalogue.ts'

const ofSkill = { kind: 'skill', changes: 'prompts', live: true, line: 'note' } as const
const skillData = { name: text, version: number } as const

export const skillCreated = defineEvent('skill.created', {
  ...ofSkill,
  description: 'A skill was created',
  data: skillData,
})
export const skillUpdated = defineEvent('skill.updated', {
  ...ofSkill,
  description: 'A skill changed',
  data: { ...skillData, fields: texts },
})
export const skillDeleted = defineEvent('skill.deleted', {
  ...ofSkill,
  deletes: true,
  description: 'A skill was deleted',
  data: skillData,
})
export const skillRestored = defineEvent('skill.restored', {
  ...ofSkill,
  description: 'A skill was restored',
  data: skillData,
})
