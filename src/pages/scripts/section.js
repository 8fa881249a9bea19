// A section of the account page: a list, a button to remove each item, and a form to create one.
import { all, call, element, guarded, isSure, onSubmit, quoted } from './api.js'

/**
 * `line` returns the name of an item and further facts; `remove` the path that deletes it, or undefined; `once` what is
 * shown of a new item now and never again.
 */
export function section({
  title,
  about,
  list,
  shown = () => true,
  line,
  remove = () => undefined,
  verb,
  after,
  ...creating
}) {
  const heading = element('h2', { tabindex: '-1' }, title)
  const rows = element('ul', { class: 'list' })
  const rest = element('div', { class: 'row' })
  const place = element('section', {}, heading, element('p', { class: 'soft' }, ...about), rows, rest)

  async function refresh() {
    const items = (await all(list)).filter(shown)
    rows.replaceChildren(...(items.length > 0 ? items.map(row) : [element('li', { class: 'soft' }, 'None yet')]))
    if (after) rest.replaceChildren(...after(items))
  }

  function row(item) {
    const [name, ...facts] = line(item)
    const path = remove(item)
    const end = guarded(place, async () => {
      if (!(await isSure(`${verb}?`, [quoted(name)], verb))) return
      await call('DELETE', path)
      await refresh()
      heading.focus()
    })
    return element(
      'li',
      {},
      element(
        'span',
        {},
        element('strong', {}, quoted(name)),
        ...facts.map((fact) => element('span', { class: 'soft' }, quoted(fact))),
      ),
      path && element('button', { class: 'quiet', 'aria-label': `${verb} ${name}`, onclick: end }, verb),
    )
  }

  if (creating.create) place.append(...maker(creating, heading, refresh))
  guarded(place, refresh)()
  return place
}

/** Returns the form that creates an item, and the place for what is shown of the new item only once. */
function maker({ fields, make, create, once }, heading, refresh) {
  const form = element(
    'form',
    { class: 'inline' },
    ...fields,
    element('button', {}, make),
    element('p', { role: 'alert' }),
  )
  const result = element('div', { tabindex: '-1' })
  onSubmit(form, async (input) => {
    const made = await create(input)
    form.reset()
    await refresh()
    if (!once) return heading.focus()
    result.replaceChildren(
      element('div', { class: 'once' }, element('p', {}, 'Copy it now: it is shown only once.'), ...once(made)),
    )
    result.focus()
  })
  return [form, result]
}

export function secret(text) {
  const code = element('code', {}, text)
  const copy = element('button', { type: 'button', class: 'quiet' }, 'Copy')
  copy.addEventListener('click', async () => {
    // Browsers offer no clipboard at insecure addresses, and users may deny it.
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    if (!copied) getSelection().selectAllChildren(code)
    copy.textContent = copied ? 'Copied' : 'Selected: copy it'
  })
  return element('div', { class: 'row' }, code, copy)
}
