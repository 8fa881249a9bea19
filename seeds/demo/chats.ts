import type { Source } from '../../src/features/assistant/schema.ts'
import { create, storeMessages } from '../../src/features/assistant/sessions.ts'
import { findProject } from '../../src/features/projects/rows.ts'
import { minutesAgo, type Step } from './script.ts'

const answer = [
  'Every block has 256 KB, so that a broken download goes on without the index [1]. Blocks followed the chapters before,',
  'but the sizes of chapters differ by a factor of a thousand [1][2].',
].join(' ')

export const chatSteps: Step[] = [
  {
    at: minutesAgo(26),
    by: 'ada',
    run: async (ctx, stage) => {
      const project = await findProject(ctx, 'lantern')
      const title = 'Why do we store books in blocks?'
      const { id } = await create(ctx, { title, projectId: project.id })
      const decision = (number: number, name: string, called: string): Source => ({
        number,
        kind: 'decision',
        id: stage.id(name),
        title: called,
        path: `/api/decisions/${stage.id(name)}`,
        organizationId: project.organizationId,
        commit: null,
        lines: null,
        url: null,
      })
      const sources = [
        decision(1, 'decision blocks', 'Blocks have one size, 256 KB'),
        decision(2, 'decision chapters', 'Blocks follow the chapters of a book'),
      ]
      const draft = {
        tasks: [
          {
            title: 'Say in the manual what a broken block costs',
            description: 'One paragraph, with the size of a block and how it is repaired.',
            acceptance: ['A reader knows what is lost, and what is not'],
          },
        ],
      }
      const said = { model: 'llama3.2', sources, usage: { prompt: 1840, completion: 62, estimated: false } }
      await storeMessages(await stage.as('system'), {
        sessionId: id,
        messages: [
          { content: title },
          { ...said, content: answer, citations: [1, 2] },
          { content: 'Propose a task that explains this to readers.' },
          {
            ...said,
            content: 'I propose one task for the manual.',
            proposals: [{ number: 1, kind: 'tasks', state: 'open', draft, sources: [1, 2], made: [] }],
          },
        ],
      })
    },
  },
]
