import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Markdown } from '../../components/markdown.tsx'
import { scopeNames } from '../skills/words.ts'
import { skillQuery } from './queries.ts'

const route = getRouteApi('/inside/skills/$id')

export function SkillPage() {
  const { id } = route.useParams()
  const { data: skill } = useSuspenseQuery(skillQuery(id))
  return (
    <div className="scroll">
      <div className="page stack s4">
        <header className="row wide">
          <h1 className="h1 grow">{skill.name}</h1>
          <span className="flag">{scopeNames[skill.scope]}</span>
        </header>
        {skill.description && <p className="soft">{skill.description}</p>}
        <Markdown text={skill.content} />
      </div>
    </div>
  )
}
