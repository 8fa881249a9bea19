import type { Skill, SkillItem } from '../../../src/features/skills/schema.ts'
import { recordLines } from '../../terminal/output.ts'
import { choice, clearable, many, text } from '../noun.ts'
import { sorting, standardVerbs } from '../resource.ts'

export const verbs = standardVerbs<SkillItem, Skill>({
  noun: 'skills',
  path: '/api/skills',
  what: 'skill',
  name: 'name',
  sample: 'review-x7k2p9',
  update: 'PUT',
  remove: [],
  columns: [
    { title: 'Slug', of: (s) => s.slug },
    { title: 'Name', of: (s) => s.name },
    { title: 'Description', of: (s) => s.description, wide: true },
    { title: 'Visibility', of: (s) => s.scope },
  ],
  show: (skill) =>
    recordLines(
      {
        Skill: skill.name,
        Slug: skill.slug,
        Visibility: skill.scope,
        Tags: skill.tags.join(', '),
        About: skill.description,
        Id: skill.id,
      },
      skill.content,
    ),
  fields: [
    clearable(text('-d, --description <text>', 'purpose of the skill')),
    text('-c, --content <text>', 'Markdown; "-" reads standard input'),
    many('--tag <tag>', 'tag', 'tags'),
    choice('--scope <who>', ['personal', 'team', 'public'], 'team'),
  ],
  filters: [
    text('--tag <tag>', 'only skills with this tag'),
    text('--search <words>', 'only skills with all of these words'),
    choice('--scope <who>', ['personal', 'team', 'public']),
    ...sorting('updatedAt', 'createdAt', 'name'),
  ],
  examples: {
    list: ['tutti skills list --scope team'],
    create: ['tutti skills create "Review" -d "How we review" -c - < review.md'],
    update: ['tutti skills update review-x7k2p9 --tag quality'],
  },
})
