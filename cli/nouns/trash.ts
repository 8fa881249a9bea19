import type { Trashed } from '../../src/features/trash/schema.ts'
import { restorableNames } from '../../src/records/names.ts'
import { Refusal } from '../terminal/refusal.ts'
import { timeAgo } from '../terminal/times.ts'
import { choice, outputOf, type Verb } from './noun.ts'
import { fetchPages, listOutput, paging } from './resource.ts'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List records that you deleted in the last 24 hours; for administrators, all records deleted in 30 days',
    aliases: ['ls'],
    online: true,
    fields: [choice('--kind <kind>', restorableNames), ...paging],
    examples: ['tutti trash list', 'tutti trash list --kind note'],
    run: async ({ client, fields }) =>
      listOutput(
        await fetchPages<Trashed>(client, '/api/trash', fields),
        [
          { title: 'Id', of: ({ id }) => id },
          { title: 'Kind', of: ({ kind }) => kind },
          { title: 'Title', of: ({ title }) => title, wide: true },
          { title: 'Deleted', of: ({ deletedAt }) => timeAgo(deletedAt) },
          { title: 'By', of: ({ deletedBy }) => deletedBy.name },
        ],
        'No deleted records that you can restore.',
      ),
  },
  {
    name: 'restore',
    args: '<id>',
    about: 'Restore a deleted record and the records deleted with it',
    online: true,
    examples: ['tutti trash restore 019a8a7e'],
    run: async ({ client, args: [id = ''] }) => {
      const { items } = await fetchPages<Trashed>(client, '/api/trash', { all: true })
      const [found, other] = items.filter((item) => item.id.startsWith(id.toLowerCase()))
      if (!found) throw new Refusal(`No record in the trash has the id ${id}. List the trash with: tutti trash list`)
      if (other) throw new Refusal(`Several ids in the trash begin with ${id}. Use a longer one.`)
      const restored = await client.post<object>(`/api${found.path}/restore`)
      return outputOf(restored, `Restored ${found.kind} ${found.title}.`)
    },
  },
]
