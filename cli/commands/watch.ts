import { notFound } from '../../src/errors.ts'
import type { LiveEvent } from '../../src/features/hub/schema.ts'
import { fullName } from '../../src/records/user-or-agent.ts'
import type { Client } from '../api/client.ts'
import { followEvents, stopSignal } from '../api/events.ts'
import { withHints } from '../api/hints.ts'
import { type ServerChoice, signedInClient } from '../api/profiles.ts'
import { linkedProject } from '../api/project-link.ts'
import { pathTo } from '../api/reference.ts'
import { dim, jsonText, printNote, safeLine, withoutControls } from '../terminal/output.ts'

interface Options extends ServerChoice {
  json?: boolean
  project?: string
  allProjects?: boolean
  type?: string[]
}

/** Prints events as they happen, one on each line, until Ctrl-C. */
export async function watchEvents({ json, project, allProjects, type: types, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const stop = stopSignal()
  const named = project ?? (allProjects ? undefined : linkedProject(client.server)?.project)
  const place = await withHints(client, () => findPlace(client, named))
  const say = (text: string) => (json ? undefined : printNote(text))
  const onLost = () => say(`The connection to ${client.server} was lost. Connecting again.`)
  let isNew = true
  for await (const message of followEvents(client, [place.topic], stop, { onLost })) {
    if (message.op === undefined) {
      const isWanted = place.has(message) && (types?.includes(message.type) ?? true)
      if (isWanted && !(await printEvent(message, json))) return
    } else if (message.op === 'reset') say('Some events were missed. List them with: tutti activity list')
    else if (message.op === 'revoked') throw notFound(place.kind, place.name)
    else if (message.op === 'subscribed') {
      if (message.refused.length > 0) throw notFound(place.kind, place.name)
      say(isNew ? `Watching ${safeLine(place.name)}. Press Ctrl-C to stop.` : 'Connected again.')
      isNew = false
    }
  }
}

interface WatchedPlace {
  kind: 'project' | 'team'
  topic: string
  name: string
  /** Events for the user alone also come from other projects. */
  has(event: LiveEvent): boolean
}

async function findPlace(client: Client, project: string | undefined): Promise<WatchedPlace> {
  if (project === undefined) {
    const { id, name } = await client.get<{ id: string; name: string }>('/api/team')
    return { kind: 'team', topic: `organization:${id}`, name, has: () => true }
  }
  const { id, name } = await client.get<{ id: string; name: string }>(pathTo('/api/projects/:ref', project))
  return { kind: 'project', topic: `project:${id}`, name, has: ({ projectId }) => projectId === id }
}

/** Returns false if the reader has closed the pipe, as after `| head -1`. */
async function printEvent(event: LiveEvent, json: boolean | undefined): Promise<boolean> {
  const time = new Date(event.at).toLocaleTimeString('sv-SE')
  const line = json
    ? jsonText(event)
    : withoutControls(`${dim(time)}  ${safeLine(fullName(event.actor))} ${safeLine(event.description)}`, 1)
  try {
    await Bun.write(Bun.stdout, `${line}\n`)
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EPIPE') return false
    throw error
  }
}
