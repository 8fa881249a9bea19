import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as work from '../jobs/work.ts'
import { program } from './install.ts'
import { holds, type Peer, type Program } from './peer.ts'

/** Tasks and documents in Markdown files, with dependencies and statuses. */

/** Writes a task as the program itself does. */
function seeded({ folder }: Peer, tasks: readonly { title: string; description: string }[]): void {
  for (const [n, { title, description }] of tasks.entries())
    writeFileSync(
      join(folder, `backlog/tasks/task-${n + 1} - ${title.replaceAll(' ', '-')}.md`),
      `---
id: TASK-${n + 1}
title: ${title}
status: To Do
assignee: []
created_date: '2026-11-16 00:06'
labels: []
dependencies: []
ordinal: ${(n + 1) * 1000}
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
${description}
<!-- SECTION:DESCRIPTION:END -->
`,
    )
}
const idOf = (ref: string): string => `TASK-${work.plan.findIndex((task) => task.ref === ref) + 1}`
const idsIn = (text: string): string[] => [...text.matchAll(/TASK-\d+/g)].map(([id]) => id)

async function planned(peer: Peer): Promise<void> {
  for (const { title, blockedBy } of work.plan)
    await peer.call('task_create', { title, ...(blockedBy && { dependencies: blockedBy.map(idOf) }) })
}
async function takeNext(peer: Peer): Promise<string | undefined> {
  const [id] = idsIn(await peer.call('task_list', { ready: true, status: 'To Do' }))
  if (id) await peer.call('task_edit', { id, status: 'In Progress' })
  return id
}
const finish = (peer: Peer, id: string | undefined) =>
  peer.call('task_edit', { id, status: 'Done', finalSummary: work.doneNote })

const checkpointText = (): string => {
  const { nextStep, files, branch, openQuestions } = work.checkpoint
  return `${nextStep}. Branch ${branch}, files ${files}. ${openQuestions}`
}

export const backlog: Program = {
  name: 'Backlog.md',
  command: () => ({ run: [program(`backlog.md-linux-${process.arch}/backlog`), 'mcp', 'start'] }),
  prepare: (folder) => {
    for (const name of ['tasks', 'docs', 'decisions', 'drafts', 'completed', 'archive', 'milestones'])
      mkdirSync(join(folder, 'backlog', name), { recursive: true })
    writeFileSync(
      join(folder, 'backlog/config.yml'),
      `project_name: "Folder lock"
default_status: "To Do"
statuses: ["To Do", "In Progress", "Done"]
labels: []
date_format: yyyy-mm-dd
remote_operations: false
auto_commit: false
filesystem_only: true
check_active_branches: false
task_prefix: "task"
`,
    )
  },
  jobs: {
    'plan a feature of 12 tasks with 8 dependencies': async (peer) => {
      await planned(peer)
      holds(await peer.free(() => peer.call('task_list')), ...work.plan.map((task) => task.title))
    },
    'next, start, finish, next, five times': async (peer) => {
      seeded(peer, work.queue)
      for (let n = 0; n < 5; n++) await finish(peer, await takeNext(peer))
      await peer.call('task_list', { ready: true, status: 'To Do' })
    },
    'what is blocked and why': async (peer) => {
      await peer.free(() => planned(peer))
      const all = idsIn(await peer.call('task_list', { status: 'To Do' }))
      const ready = new Set(idsIn(await peer.call('task_list', { status: 'To Do', ready: true })))
      for (const id of all.filter((each) => !ready.has(each))) holds(await peer.call('task_view', { id }), 'Depends on')
    },
    'find one of 120 tasks by words': async (peer) => {
      seeded(peer, work.many)
      holds(await peer.call('task_search', { query: work.sought.query, limit: 1 }), work.sought.title)
    },
    'resume after total loss of context': async (peer) => {
      seeded(peer, work.queue)
      const id = await peer.free(() => takeNext(peer))
      await peer.call('task_edit', { id, notesAppend: [checkpointText()] })
      const [found] = idsIn(await peer.call('task_list', { status: 'In Progress' }))
      holds(await peer.call('task_view', { id: found }), checkpointText())
    },
    'record a decision with alternatives and look it up': async (peer) => {
      const { title, decision, rationale, alternatives } = work.decision
      const content = `${decision} ${rationale} Alternatives: ${alternatives.join('; ')}.`
      await peer.call('document_create', { title, content })
      const [id] = /doc-\d+/.exec(await peer.call('document_search', { query: 'flock' })) ?? []
      holds(await peer.call('document_view', { id }), content)
    },
    'two agents take six tasks': async (peer) => {
      seeded(peer, work.queue)
      for (let n = 0; n < 6; n++) await finish(peer, await takeNext(peer))
    },
    'hand over half-done work': async (peer) => {
      seeded(peer, work.queue.slice(0, 1))
      const id = await peer.free(() => takeNext(peer))
      await peer.call('task_edit', { id, status: 'To Do', notesAppend: [work.handover] })
      const [found] = idsIn(await peer.call('task_list', { ready: true, status: 'To Do' }))
      // The answer to the change of status holds the notes.
      holds(await peer.call('task_edit', { id: found, status: 'In Progress' }), work.handover)
      await finish(peer, found)
    },
    'read a task with all that is needed': async (peer) => {
      const { predecessor, task, comment } = work.rich
      await peer.free(async () => {
        await peer.call('task_create', { title: predecessor.title })
        await peer.call('task_edit', { id: 'TASK-1', status: 'Done', finalSummary: predecessor.notes })
        await peer.call('task_create', {
          title: task.title,
          description: task.description,
          acceptanceCriteria: task.acceptance,
          dependencies: ['TASK-1'],
        })
        await peer.call('task_edit', { id: 'TASK-2', commentsAppend: [comment] })
      })
      holds(await peer.call('task_view', { id: 'TASK-2' }), comment, ...task.acceptance)
      holds(await peer.call('task_view', { id: 'TASK-1' }), predecessor.notes)
    },
    'report today’s work': async (peer) => {
      seeded(peer, work.queue)
      await peer.free(async () => {
        for (const id of ['TASK-1', 'TASK-2', 'TASK-3', 'TASK-4']) await finish(peer, id)
      })
      // Only the task itself says on which day it was done.
      const done = idsIn(await peer.call('task_list', { status: 'Done' }))
      for (const id of done) holds(await peer.call('task_view', { id }), 'Updated:')
    },
    'split a task in three and finish them': async (peer) => {
      seeded(peer, work.queue.slice(0, 1))
      for (const title of work.parts) await peer.call('task_create', { title, parentTaskId: 'TASK-1' })
      for (const id of ['TASK-1.1', 'TASK-1.2', 'TASK-1.3']) await finish(peer, id)
    },
    'recover from a wrong id and a wrong status': async (peer) => {
      seeded(peer, work.queue)
      await peer.refused('task_edit', { id: 'TASK-20', status: 'In Progress' })
      const [id] = idsIn(await peer.call('task_search', { query: 'exit codes' }))
      holds(await peer.refused('task_edit', { id, status: 'reviewing' }), 'In Progress')
      await peer.call('task_edit', { id, status: 'In Progress' })
    },
  },
}
