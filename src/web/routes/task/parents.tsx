/** The story, the epic, the parent task and the features of a task. */
import { Link } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import { type ReactNode, Suspense, useState } from 'react'
import type { TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import { Property } from '../../components/section.tsx'
import { lazy } from '../../lib/lazy.ts'
import { words } from './words.ts'

const RecordPicker = lazy(() => import('../tasks/pickers/record-picker.tsx'))
/** The value of the option that removes the story or the parent. */
const NONE = ''

interface Props {
  task: TaskDetail
  may: boolean
  onChange(patch: TaskPatch): void
}

export function TaskParents({ task, may, onChange }: Props) {
  const { project, story, epic, parent, features } = task
  const [choosing, setChoosing] = useState<{ field: 'storyId' | 'parentId'; anchor: Element }>()
  const edit = (name: string, field: 'storyId' | 'parentId') =>
    may && (
      <button
        type="button"
        className="ib s24"
        aria-label={words.edit(name)}
        aria-haspopup="dialog"
        onClick={({ currentTarget }) => setChoosing({ field, anchor: currentTarget })}
      >
        <Pencil className="i s12" aria-hidden />
      </button>
    )
  return (
    <>
      <EditableProperty
        name={words.story}
        value={story && epic && <StoryLink project={project} epic={epic} story={story} />}
      >
        {edit(words.story, 'storyId')}
      </EditableProperty>
      {epic && (
        <Property name={words.epic}>
          <Link className="cut" to="/projects/$slug/epics/$epicId" params={{ slug: project.slug, epicId: epic.id }}>
            {epic.title}
          </Link>
        </Property>
      )}
      <EditableProperty
        name={words.partOf}
        value={
          parent && (
            <Link className="cut" to="/tasks/$key" params={{ key: parent.key }}>
              {parent.key} {parent.title}
            </Link>
          )
        }
      >
        {edit(words.partOf, 'parentId')}
      </EditableProperty>
      {features.map(({ id, title }) => (
        <Property key={id} name={words.feature}>
          <Link className="cut" to="/features/$id" params={{ id }}>
            {title}
          </Link>
        </Property>
      ))}
      {choosing && (
        <Suspense>
          <RecordPicker
            anchor={choosing.anchor}
            action={choosing.field === 'storyId' ? words.chosenStory : words.chosenParent}
            subject={task.key}
            verb={words.choose}
            kind={choosing.field === 'storyId' ? 'story' : 'task'}
            projectId={project.id}
            without={[task.id]}
            first={task[choosing.field] === null ? [] : [noneOption(choosing.field)]}
            onChoose={(id) => onChange({ [choosing.field]: id === NONE ? null : id })}
            onClose={() => setChoosing(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

const noneOption = (field: 'storyId' | 'parentId') => ({
  value: NONE,
  label: field === 'storyId' ? words.noStory : words.noParent,
})

/** A link, and how to change it; nothing where there is neither. */
const EditableProperty = ({ name, value, children }: { name: string; value: ReactNode; children: ReactNode }) =>
  value || children ? (
    <Property name={name}>
      <span className="row tight">
        {value || <span className="soft">{words.notSet}</span>}
        {children}
      </span>
    </Property>
  ) : null

type StoryProps = { [Part in 'project' | 'epic' | 'story']: NonNullable<TaskDetail[Part]> }

const StoryLink = ({ project, epic, story }: StoryProps) => (
  <Link
    className="cut"
    to="/projects/$slug/epics/$epicId/stories/$storyId"
    params={{ slug: project.slug, epicId: epic.id, storyId: story.id }}
  >
    {story.title}
  </Link>
)
