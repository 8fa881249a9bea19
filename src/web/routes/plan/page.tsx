/** The plan of a project: epics, their stories and tasks, opened at the one that the address names. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Empty } from '../../components/states.tsx'
import { treeQuery } from './queries.ts'
import { words } from './words.ts'

export function PlanPage() {
  const { slug = '', epicId, storyId } = useParams({ strict: false })
  const { project, epics, tasks } = useSuspenseQuery(treeQuery(slug)).data
  const list = (items: typeof tasks) => (
    <ul>
      {items.map(({ id, key, title }) => (
        <li key={id}>
          <Link to="/tasks/$key" params={{ key }}>
            {key} {title}
          </Link>
        </li>
      ))}
    </ul>
  )
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.title(project.name)}</h1>
        {epics.length === 0 && tasks.length === 0 && (
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
          </Empty>
        )}
        {epics.map((epic) => (
          <section key={epic.id} className="sheet pad" aria-current={epic.id === epicId || undefined}>
            <h2 className="h2">{epic.title}</h2>
            {epic.stories.map((story) => (
              <section key={story.id} aria-current={story.id === storyId || undefined}>
                <h3>{story.title}</h3>
                {list(story.tasks)}
              </section>
            ))}
          </section>
        ))}
        {tasks.length > 0 && list(tasks)}
      </div>
    </div>
  )
}
