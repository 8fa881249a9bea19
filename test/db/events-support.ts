import { newId } from '../../src/db/columns.ts'
import type { AppEvent } from '../../src/events/event.ts'
import { createLog } from '../../src/log.ts'

export const quietLog = createLog('debug', () => undefined, false)

/** The events of a listener, and a way to wait for them. */
export class EventRecorder {
  readonly received: AppEvent[] = []
  #waiting: { type: string; go: () => void }[] = []
  readonly listen = (event: AppEvent): void => {
    this.received.push(event)
    for (const { go } of this.#waiting.filter((w) => w.type === event.type)) go()
  }
  get types(): string[] {
    return this.received.map((e) => e.type)
  }
  until(type: string): Promise<void> {
    if (this.types.includes(type)) return Promise.resolve()
    return new Promise((go) => void this.#waiting.push({ type, go }))
  }
}

export const makeEvent = (origin: string, type: string, data: Record<string, unknown> = {}): AppEvent => ({
  id: newId(),
  at: new Date().toISOString(),
  type,
  action: 'test',
  actor: { kind: 'system', id: null, name: 'system' },
  credentialId: null,
  organizationId: null,
  projectId: null,
  userId: null,
  subjectId: null,
  data,
  requestId: newId(),
  ip: null,
  origin,
})
