import { expect, test } from 'bun:test'
import { ClockWatch } from '../../src/db/clock.ts'
import type { Driver } from '../../src/db/driver.ts'
import { createLog } from '../../src/log.ts'
import { newProject, newTask, newTeam, start, t } from '../features/tasks-support.ts'
import { call } from '../support/app.ts'

/** An instance with a wrong clock must not take over tasks of others. */
await start()

/** Seconds by which the clock of the machine is ahead. */
let ahead = 0
const lines: string[] = []
const watch = new ClockWatch(
  t.app.driver,
  createLog('debug', (line) => void lines.push(line), false),
  () => Date.now() + ahead * 1000,
)
const at = async (seconds: number): Promise<boolean> => {
  ahead = seconds
  await watch.check()
  return watch.isTrusted
}

test('a small clock difference is logged once; a large one makes the clock untrusted until it is corrected', async () => {
  const said = () => lines.splice(0).map((line) => /(info|warn|error)/i.exec(line)?.[0].toLowerCase())
  expect([await at(0), said()]).toEqual([true, []])
  expect([await at(10), await at(12), said()]).toEqual([true, true, ['warn']])
  expect([await at(1200), await at(1300), said()]).toEqual([false, false, ['error']])
  expect([await at(-1200), said()]).toEqual([false, []])
  expect([await at(0), said()]).toEqual([true, ['info']])
})

test('an unresponsive database does not change the state of the clock', async () => {
  let isAway = true
  const away = new Proxy<Driver>(t.app.driver, {
    get: (target, name) => {
      if (name === 'query' && isAway) return () => Promise.reject(new Error('away'))
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const none = createLog('error', () => undefined, false)
  const quiet = new ClockWatch(away, none, () => Date.now() + 3_600_000)
  await quiet.check()
  expect(quiet.isTrusted).toBe(true)
  isAway = false
  await quiet.check()
  expect(quiet.isTrusted).toBe(false)
})

test('an instance with a wrong clock is not ready and assigns no tasks, but still serves requests', async () => {
  const { owner } = await newTeam()
  const project = await newProject(owner)
  const task = await newTask(owner, project)
  const own = t.app.clockWatch
  const app = t.app as { clockWatch: ClockWatch }
  app.clockWatch = watch
  try {
    await at(1200)
    const { status, body } = await call<{ status: string }>(t, 'GET', '/health/ready')
    expect([status, body.status]).toEqual([503, 'clock'])
    expect((await call(t, 'GET', '/health')).status).toBe(200)
    const claim = () => owner.fetch<{ code: string }>('POST', `/api/tasks/${task.id}/claim`, {})
    const refused = await claim()
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
    expect((await owner.fetch('GET', `/api/tasks/${task.id}`)).status).toBe(200)
    await at(0)
    expect((await call(t, 'GET', '/health/ready')).status).toBe(200)
    expect((await claim()).status).toBe(200)
  } finally {
    app.clockWatch = own
  }
})
