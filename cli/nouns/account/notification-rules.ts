import type { NotificationPreferencesAnswer } from '../../../src/features/users/notification-rules.ts'
import type { PreferencesAnswer } from '../../../src/features/users/schema.ts'
import type { Client } from '../../api/client.ts'
import { pluralize, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { type CommandOutput, choice, flag, many, outputOf, text, type Verb } from '../noun.ts'

const PATH = '/api/settings/preferences'
const onOff = ['on', 'off'] as const

function rulesOutput({ rules, daily, pausedUntil, ...rest }: NotificationPreferencesAnswer): CommandOutput {
  const rows = Object.entries(rules).map(([reason, rule]) => ({ reason, ...rule }))
  const yesNo = (is: boolean) => (is ? 'on' : 'off')
  return outputOf(
    { rules, daily, pausedUntil, ...rest },
    ...tableLines(rows, [
      { title: 'Reason', of: (row) => row.reason },
      { title: 'Inbox', of: (row) => yesNo(row.inbox) },
      { title: 'Mail', of: (row) => row.mail },
      { title: 'Push', of: (row) => yesNo(row.push) },
    ]),
    '',
    `Daily mail  ${daily.at} ${daily.timezone}, on ${daily.days.join(', ')}`,
    ...(pausedUntil ? [`Paused      until ${pausedUntil}`] : []),
    ...(rest.sendsMail ? [] : ['Mail        this server sends no mail']),
  )
}

const changeRules = async (client: Client, notifications: object): Promise<CommandOutput> =>
  rulesOutput((await client.request<PreferencesAnswer>('PATCH', PATH, { notifications })).notifications)

const parseOnOff = (value: unknown, option: string): boolean => {
  if (value !== 'on' && value !== 'off') throw new Refusal(`${option} is on or off.`)
  return value === 'on'
}

/** Which notifications reach the user, and how. */
export const ruleVerbs: Verb[] = [
  {
    name: 'rules',
    about: 'Show which notifications reach you, and how',
    examples: ['tutti notifications rules'],
    run: async ({ client }) => rulesOutput((await client.get<PreferencesAnswer>(PATH)).notifications),
  },
  {
    name: 'set',
    args: '<reason>',
    about: 'Choose how notifications of a reason reach you, such as mention or review',
    fields: [
      choice('--inbox <on>', onOff),
      choice('--mail <when>', ['off', 'now', 'daily']),
      choice('--push <on>', onOff),
      flag('--reset', 'return to the default'),
    ],
    examples: [
      'tutti notifications set mention --mail daily',
      'tutti notifications set other --inbox off',
      'tutti notifications set mention --reset',
    ],
    run: ({ client, args: [reason = ''], fields: { reset, inbox, mail, push } }) => {
      const rule = {
        ...(inbox !== undefined && { inbox: parseOnOff(inbox, '--inbox') }),
        ...(push !== undefined && { push: parseOnOff(push, '--push') }),
        ...(mail !== undefined && { mail }),
      }
      if (!reset && Object.keys(rule).length === 0)
        throw new Refusal('Choose something to change: --inbox, --mail, --push or --reset.')
      return changeRules(client, { rules: { [reason]: reset ? null : rule } })
    },
  },
  {
    name: 'pause',
    about: 'Hold mail and push notifications until a time',
    fields: [
      {
        flag: '--until <when>',
        about: 'when the pause ends, such as 2027-01-31, fri or +3h; "none" ends it now',
        as: 'pausedUntil',
        kind: 'time',
        required: true,
        clears: 'always',
      },
    ],
    examples: ['tutti notifications pause --until fri', 'tutti notifications pause --until none'],
    run: ({ client, fields }) => changeRules(client, fields),
  },
  {
    name: 'daily',
    about: 'Choose when the daily mail is sent, or send it now',
    fields: [
      text('--at <time>', 'time of day in your time zone, such as 08:00'),
      many('--day <day>', 'mon, tue, wed, thu, fri, sat or sun', 'days'),
      flag('--now', 'send it now, with what is still unread'),
    ],
    examples: ['tutti notifications daily --at 17:30 --day mon --day thu', 'tutti notifications daily --now'],
    run: async ({ client, fields: { now, ...daily } }) => {
      if (Object.keys(daily).length > 0 || !now) {
        const output = await changeRules(client, { daily })
        if (!now) return output
      }
      const mailed = await client.post<{ unread: number }>('/api/notifications/daily-mail')
      return outputOf(
        mailed,
        mailed.unread > 0
          ? `Sent a mail with ${pluralize(mailed.unread, 'notification')}.`
          : 'No mail sent: no notification is waiting for the daily mail.',
      )
    },
  },
]
