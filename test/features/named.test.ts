import { beforeAll, expect, test } from 'bun:test'
import { unique } from '../support/app.ts'
import { newTask, newTeam, start, t } from './tasks-support.ts'

/** What `test/support/named.ts` has the database check in all tests, seen at work. What it refuses is rolled back. */
beforeAll(start)

/** Changes the titles of tasks in a transaction with one event: a copy of another, which names these as changed. */
async function rename(tasks: readonly string[], named: readonly string[], subject: string): Promise<void> {
  const tx = await t.app.driver.begin()
  await tx.query(
    `insert into events overriding system value
     select (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(), 'subject_id', $2::uuid,
       'seq', nextval(pg_get_serial_sequence('events', 'seq')), 'data',
       jsonb_build_object('changed', jsonb_build_object('task', string_to_array($3::text, ',')))))).*
     from events e where e.subject_id = $1::uuid and e.type = 'task.created'`,
    [tasks[0], subject, named.join()],
  )
  for (const id of tasks) await tx.query('update tasks set title = $2 where id = $1::uuid', [id, unique('title')])
  await tx.commit()
}

test('the database refuses to change a record that no event names', async () => {
  const { owner, project } = await newTeam()
  const [a, b] = [await newTask(owner, project), await newTask(owner, project)]
  const refused = (id: string) => `sync: task ${id} of project:${project.id} was changed (UPDATE)`
  await expect(rename([a.id], [], project.id)).rejects.toThrow(refused(a.id))
  await expect(rename([a.id], [], b.id)).rejects.toThrow(refused(a.id))
  await expect(rename([a.id, b.id], [a.id], project.id)).rejects.toThrow(refused(b.id))
  await expect(rename([a.id, b.id], [], b.id)).rejects.toThrow(refused(a.id))
})
