import { useQuery } from '@tanstack/react-query'
import { LoadStatus, ProblemBox, Waiting } from '../../components/states.tsx'
import { dayAndTime, localizeTimes } from '../../lib/times.ts'
import { AdminFrame, DataTable, FactList } from './parts.tsx'
import { doctorQuery, jobsQuery, stateQuery } from './queries.ts'
import { words } from './words.ts'

export const StatePage = () => (
  <AdminFrame at="state">
    <Figures />
    <Doctor />
    <Jobs />
  </AdminFrame>
)

function Figures() {
  const { data, error } = useQuery(stateQuery)
  if (!data) return <LoadStatus of={{ data, error }} />
  const { database, disk, mail, jobs, connections } = data
  const facts: [string, string][] = [
    [words.state.version, data.version],
    [words.state.database, `${words.state.kinds[database.kind] ?? database.kind}, ${words.bytes(database.bytes)}`],
    [words.state.disk, `${words.bytes(disk.freeBytes)} / ${words.bytes(disk.totalBytes)}`],
    [words.state.memory, words.bytes(data.memory.residentBytes)],
    [words.state.mail, words.state.mailOf(mail.mode, mail.waiting, mail.failed)],
    [words.state.jobs, words.state.jobsOf(jobs.waiting, jobs.active, jobs.failed)],
    [words.state.connections, words.state.connectionsOf(connections.http, connections.mcpStreams)],
  ]
  return <FactList of={facts} />
}

function Doctor() {
  const { data, error } = useQuery(doctorQuery)
  return (
    <section className="stack">
      <h2 className="h2">{words.state.doctor}</h2>
      <p className="soft">{words.state.doctorMore}</p>
      {error && <ProblemBox error={error} />}
      {!data && !error && <Waiting />}
      {data && (
        <ul className="sheet">
          {data.items.map(({ what, ok, warning, said, times, advice }) => (
            <li key={`${what} ${said}`} className="setrow">
              <span className={`flag ${ok ? (warning ? 'warn' : 'good') : 'bad'}`}>
                {ok ? (warning ? words.state.warning : words.state.ok) : words.state.bad}
              </span>
              <b className="b5">{what}</b>
              <span className="grow">{localizeTimes(said, times)}</span>
              {advice && <span className="t12 soft">{advice}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Jobs() {
  const { data, error } = useQuery(jobsQuery)
  const columns = words.state.columns
  return (
    <section className="stack">
      <h2 className="h2">{words.state.queue}</h2>
      {error && <ProblemBox error={error} />}
      {data?.items.length === 0 && <p className="soft">{words.state.noJobs}</p>}
      {data && data.items.length > 0 && (
        <DataTable
          items={data.items}
          columns={[
            { title: columns.name, of: ({ name }) => <span className="mono t12">{name}</span> },
            { title: columns.state, of: ({ state }) => state },
            { title: columns.attempts, of: ({ attempts }) => attempts, wide: true },
            { title: columns.runAt, of: ({ runAt }) => dayAndTime(runAt) },
            { title: columns.error, of: ({ error }) => error, wide: true },
          ]}
        />
      )}
    </section>
  )
}
