/** What the team uses of its plan. Shown only if the plan limits something. */
import { useQuery } from '@tanstack/react-query'
import { Section } from '../../components/section.tsx'
import { usageQuery } from './queries.ts'
import { words } from './words.ts'

export function PlanUsage({ team }: { team: string }) {
  const { data } = useQuery(usageQuery(team))
  const limited = data?.items.filter(({ most }) => most !== null) ?? []
  if (!data || limited.length === 0) return null
  return (
    <Section title={words.usage.title} n={data.plan}>
      <dl className="sheet">
        {limited.map(({ limit, used, most }) => (
          <div className="prow padx row" key={limit}>
            <dt className="grow">{words.usage.limits[limit]}</dt>
            <dd className={used >= Number(most) ? 'b5' : 'soft'}>
              {words.usage[limit === 'storageMb' ? 'ofMb' : 'of'](used, Number(most))}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
