import type { Skill, SkillItem } from '../../src/features/skills/schema.ts'
import { many, plainVerbs, record, text } from '../noun.ts'

export const verbs = plainVerbs<SkillItem, Skill>({
  path: '/api/skills',
  what: 'skill',
  name: 'name',
  update: 'PUT',
  remove: true,
  columns: [
    { title: 'Slug', of: (s) => s.slug },
    { title: 'Name', of: (s) => s.name },
    { title: 'Description', of: (s) => s.description, wide: true },
    { title: 'Seen by', of: (s) => s.scope },
  ],
  show: (skill) =>
    record(
      { Skill: skill.name, Slug: skill.slug, 'Seen by': skill.scope, Tags: skill.tags.join(', '), About: skill.description, Id: skill.id },
      skill.content,
    ),
  fields: [
    text('-d, --description <text>', 'what it is for'),
    text('-c, --content <text>', 'Markdown; - reads it from standard input'),
    many('--tag <tag>', 'a tag', 'tags'),
    text('--scope <who>', 'personal, team or public'),
  ],
  filters: [text('--tag <tag>', 'only those'), text('--search <words>', 'only those'), text('--scope <who>', 'only those')],
})
