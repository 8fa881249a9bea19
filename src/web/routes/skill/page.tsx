/** A skill: what agents are told, who uses it, and whom it is shared with. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, Suspense, useState } from 'react'
import type { SkillDetail } from '../../../features/skills/schema.ts'
import { agentsQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { Property, Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { dayAndTime } from '../../lib/times.ts'
import { useKey } from '../../shortcuts.ts'
import { scopeNames } from '../skills/words.ts'
import { restoreSkill, skillQuery, useChangeSkill, useRemoveSkill } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/skills/$id')
const Writing = lazy(async () => ({ default: (await import('./skill-editor.tsx')).SkillEditor }))

const keys = (
  <span className="row">
    <Kbd>e</Kbd>
    {words.keys.edit}
  </span>
)

export function SkillPage() {
  const { id } = route.useParams()
  const { data: skill } = useSuspenseQuery(skillQuery(id))
  return <Body key={skill.id} skill={skill} />
}

function Body({ skill }: { skill: SkillDetail }) {
  const change = useChangeSkill(skill)
  const remove = useRemoveSkill(skill)
  const navigate = useNavigate()
  const [isWriting, setWriting] = useState(false)
  const may = skill.can.update === true
  useCrumbs({ label: words.skills, to: '/skills' }, { label: skill.name, record: skill.id })
  useKey('e', () => may && setWriting(true), may ? { label: words.keys.edit } : {})
  useStatusBarLeft(may ? keys : null)
  const removed = () => {
    const undo = () => void restoreSkill(skill.id).catch((error: Error) => toast({ title: error.message, bad: true }))
    toast({ title: words.removed, text: skill.name, action: { label: words.undo, run: undo } })
    void navigate({ to: '/skills' })
  }
  const error = change.error ?? remove.error
  return (
    <section className="panel whole" aria-label={skill.name}>
      <div className="body">
        <div className="txt">
          <header className="row wide">
            <h1 className="h1 grow">{skill.name}</h1>
            {may && !isWriting && (
              <button type="button" className="btn small" onClick={() => setWriting(true)}>
                {words.edit}
              </button>
            )}
          </header>
          {error && !isWriting && <ProblemBox error={error} />}
          {isWriting ? (
            <Suspense>
              <Writing skill={skill} change={change} onEnd={() => setWriting(false)} />
            </Suspense>
          ) : (
            <Text skill={skill} />
          )}
          <UsedBy skill={skill} />
        </div>
        <Fields skill={skill} onScope={(scope) => change.mutate({ scope })}>
          {skill.can.remove === true && (
            <button
              type="button"
              className="btn danger"
              disabled={remove.isPending}
              onClick={() => remove.mutate(undefined, { onSuccess: removed })}
            >
              {words.remove}
            </button>
          )}
        </Fields>
      </div>
    </section>
  )
}

const Text = ({ skill }: { skill: SkillDetail }) => (
  <>
    {skill.description && <p className="soft">{skill.description}</p>}
    {skill.content ? <Markdown text={skill.content} title={skill.name} /> : <p className="soft">{words.noContent}</p>}
  </>
)

/** The agents that list it among their skills, and the call by which any agent reads it. */
function UsedBy({ skill }: { skill: SkillDetail }) {
  const { team } = useRouteContext({ from: '/inside' })
  const users = (useQuery(agentsQuery(team.id)).data ?? []).filter(({ skills }) => skills.includes(skill.id))
  return (
    <Section title={words.usedBy} n={users.length || undefined}>
      {users.length === 0 && <p className="soft">{words.usedByNobody}</p>}
      <ul>
        {users.map(({ id, slug, name, role }) => (
          <li key={id}>
            <Link className="dep" to="/agents/$id" params={{ id: slug }}>
              <Avatar party={{ type: 'agent', id, name }} />
              <span className="cut grow">{name}</span>
              <span className="soft t12">{role}</span>
            </Link>
          </li>
        ))}
      </ul>
      <p className="soft t12 callof">{words.prompt}</p>
      <pre className="code callof">{words.call(skill.slug)}</pre>
    </Section>
  )
}

interface FieldsProps {
  skill: SkillDetail
  onScope(scope: SkillDetail['scope']): void
  children: ReactNode
}

function Fields({ skill, onScope, children }: FieldsProps) {
  const scopes = (Object.keys(scopeNames) as SkillDetail['scope'][]).filter(
    (scope) => skill.can[words.scopes[scope]] === true,
  )
  const flag = <span className={skill.scope === 'public' ? 'flag info' : 'flag'}>{scopeNames[skill.scope]}</span>
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Property name={words.sharedWith}>
          {scopes.length > 0 ? (
            <LazyMenu
              trigger={
                <button type="button" className="row tight">
                  <span className="hide">{words.sharedWith}: </span>
                  {flag}
                </button>
              }
              entries={scopes.map((value) => ({ value, label: scopeNames[value], chosen: value === skill.scope }))}
              onChoose={(scope) => onScope(scope as SkillDetail['scope'])}
            />
          ) : (
            flag
          )}
        </Property>
        <Property name={words.slug}>
          <span className="mono t12 cut">{skill.slug}</span>
        </Property>
        <Property name={words.changed}>{dayAndTime(skill.updatedAt)}</Property>
        {skill.tags.length > 0 && (
          <Property name={words.tags}>
            <span className="row tight wrap">
              {skill.tags.map((tag) => (
                <span key={tag} className="chip">
                  {tag}
                </span>
              ))}
            </span>
          </Property>
        )}
      </dl>
      <div className="stack">{children}</div>
    </aside>
  )
}
