// What the dashboard is compared with: a table of 200 rows in React, one call, and a menu of Base UI in each row.
import { Menu } from '@base-ui/react/menu'
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'

const rows = await (await fetch('/rows')).json()
const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })

const RowMenu = ({ name }) =>
  h(
    Menu.Root,
    null,
    h(Menu.Trigger, { 'aria-label': `More about ${name}` }, '…'),
    h(
      Menu.Portal,
      null,
      h(Menu.Positioner, null, h(Menu.Popup, null, h(Menu.Item, null, 'Rename'), h(Menu.Item, null, 'Delete'))),
    ),
  )

const Row = ({ row: { key, title, status, at } }) =>
  h(
    'tr',
    null,
    h('td', null, key),
    h('td', null, h('a', { href: `#${key}` }, title)),
    h('td', { className: status }, status),
    h('td', null, h('time', { dateTime: at }, day.format(new Date(at)))),
    h('td', null, h(RowMenu, { name: key })),
  )

const table = h(
  'table',
  null,
  h(
    'tbody',
    null,
    rows.map((row) => h(Row, { key: row.key, row })),
  ),
)
createRoot(document.getElementById('root')).render(h('main', null, h('h1', null, 'Tasks'), table))
