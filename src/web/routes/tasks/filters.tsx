import { ListFilter } from 'lucide-react'
import { priorities } from '../../../records/work.ts'
import { PriorityGlyph } from '../../components/glyphs.tsx'
import { Menu } from '../../components/menu.tsx'
import { priorityNames } from '../../words.ts'
import type { TaskSearch } from './search.ts'
import { words } from './words.ts'

interface Props {
  search: TaskSearch
  onChange(change: Partial<TaskSearch>): void
}

export function FilterMenu({ search, onChange }: Props) {
  return (
    <>
      <Menu
        trigger={
          <button type="button" className="btn quiet small">
            <ListFilter className="i s14" aria-hidden />
            {words.filter}
          </button>
        }
        entries={[
          { value: 'mine', label: words.mine, chosen: search.assignee === 'me' },
          ...priorities.map((priority) => ({
            value: priority,
            label: priorityNames[priority],
            glyph: <PriorityGlyph priority={priority} />,
            chosen: search.priority === priority,
          })),
        ]}
        onChoose={(value) =>
          value === 'mine'
            ? onChange({ assignee: search.assignee === 'me' ? undefined : 'me' })
            : onChange({ priority: search.priority === value ? undefined : (value as TaskSearch['priority']) })
        }
      />
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          const q = new FormData(event.currentTarget).get('q')
          onChange({ q: typeof q === 'string' && q.trim() !== '' ? q.trim() : undefined })
        }}
      >
        <input
          key={search.q ?? ''}
          className="input slim"
          name="q"
          type="search"
          defaultValue={search.q}
          placeholder={words.find}
          aria-label={words.find}
        />
      </form>
    </>
  )
}
