import type {
  NotificationPreferencesAnswer,
  NotificationPreferencesPatch,
} from '../../../features/users/notification-rules.ts'
import { notificationWords as w } from './words.ts'

type Rules = NotificationPreferencesAnswer['rules']
type Reason = keyof Rules
type Rule = Rules[Reason]

const reasons = Object.keys(w.reasons) as Reason[]
const mails = Object.keys(w.mails) as Rule['mail'][]

interface Props {
  rules: Rules
  /** Whether the operator has turned push notifications on. */
  push: boolean
  onChange(patch: NotificationPreferencesPatch): void
}

/** The reasons of notifications, and which channels each of them uses. */
export const RuleTable = ({ rules, push, onChange }: Props) => (
  <section className="sheet tbl rules">
    <table>
      <thead>
        <tr className="soft">
          <th scope="col">{w.when}</th>
          <th scope="col">{w.inbox}</th>
          {push && <th scope="col">{w.push}</th>}
          <th scope="col">{w.mail}</th>
        </tr>
      </thead>
      <tbody>
        {reasons.map((reason) => (
          <RuleRow
            key={reason}
            reason={reason}
            rule={rules[reason]}
            push={push}
            onChange={(rule) => onChange({ rules: { [reason]: rule } })}
          />
        ))}
      </tbody>
    </table>
  </section>
)

interface RowProps {
  reason: Reason
  rule: Rule
  push: boolean
  onChange(rule: Partial<Rule>): void
}

function RuleRow({ reason, rule, push, onChange }: RowProps) {
  const [name, about] = w.reasons[reason]
  return (
    <tr>
      <td>
        <b className="b5">{name}</b>
        <div className="t12 soft">{about}</div>
      </td>
      <td data-label={w.inbox}>
        <Switch label={w.inboxFor(name)} is={rule.inbox} onChange={(inbox) => onChange({ inbox })} />
      </td>
      {push && (
        <td data-label={w.push}>
          <Switch label={w.pushFor(name)} is={rule.push} onChange={(is) => onChange({ push: is })} />
        </td>
      )}
      <td data-label={w.mail}>
        <div className="seg tiny" role="group" aria-label={w.mailFor(name)}>
          {mails.map((mail) => (
            <button key={mail} type="button" aria-pressed={rule.mail === mail} onClick={() => onChange({ mail })}>
              {w.mails[mail]}
            </button>
          ))}
        </div>
      </td>
    </tr>
  )
}

const Switch = ({ label, is, onChange }: { label: string; is: boolean; onChange(is: boolean): void }) => (
  <input
    type="checkbox"
    role="switch"
    className="switch"
    aria-label={label}
    aria-checked={is}
    checked={is}
    onChange={(event) => onChange(event.currentTarget.checked)}
  />
)
