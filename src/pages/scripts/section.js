// A section of a page: a list, buttons to change or remove each item, and a form to create one.
import { all, call, element, guarded, isSure, onSubmit, quoted } from './api.js'

/**
 * `line` returns the name of an item and further facts; `href` the address of its page; `remove` the path that deletes
 * it, or undefined. `change.of` returns the work of a further button, or undefined; the work returns what `create` does,
 * or false if nothing was changed. `once` returns what is shown of a new item now and never again; `done` what is said
 * if there is nothing of the kind.
 */
export function section({
  title,
  about,
  list,
  shown = () => true,
  line,
  href,
  remove = () => undefined,
  verb,
  change,
  after,
  ...creating
}) {
  const heading = element('h2', { tabindex: '-1' }, title)
  const rows = element('ul', { class: 'list' })
  const rest = element('div', { class: 'row' })
  const place = element('section', {}, heading, element('p', { class: 'soft' }, ...about), rows, rest)
  const result = element('div', { tabindex: '-1' })

  async function refresh() {
    const items = (await all(list)).filter(shown)
    rows.replaceChildren(...(items.length > 0 ? items.map(row) : [element('li', { class: 'soft' }, 'None yet')]))
    if (after) rest.replaceChildren(...after(items))
  }

  /** Shows the list as it is now, and what there is to see of the new item only once. */
  async function renew(made) {
    await refresh()
    result.replaceChildren(...afterwards(creating, made))
    ;(result.hasChildNodes() ? result : heading).focus()
  }

  function buttons(item, name) {
    const path = remove(item)
    const end = guarded(place, async () => {
      if (!(await isSure(`${verb}?`, [quoted(name)], verb))) return
      await call('DELETE', path)
      await renew()
    })
    const work = change?.of(item)
    const run = guarded(place, async () => {
      const made = await work()
      if (made) await renew(made)
    })
    const button = (text, onclick) =>
      element('button', { type: 'button', class: 'quiet', 'aria-label': `${text} ${name}`, onclick }, text)
    return [work && button(change.verb, run), path && button(verb, end)].filter(Boolean)
  }

  function row(item) {
    const [name, ...facts] = line(item)
    const made = buttons(item, name)
    return element(
      'li',
      {},
      element(
        'span',
        {},
        element('strong', {}, href ? element('a', { href: href(item) }, quoted(name)) : quoted(name)),
        ...facts.map((fact) => element('span', { class: 'soft' }, quoted(fact))),
      ),
      made.length > 1 ? element('div', {}, ...made) : made[0],
    )
  }

  if (creating.create) place.append(maker(creating, renew), result)
  guarded(place, refresh)()
  return place
}

/** Returns what is shown after an item was created. */
function afterwards({ once, done }, made) {
  if (!made || typeof made !== 'object') return []
  const shown = once?.(made)
  if (shown)
    return [element('div', { class: 'once' }, element('p', {}, 'Copy it now: it is shown only once.'), ...shown)]
  return done ? [element('p', { role: 'status' }, ...done(made))] : []
}

/** Returns the form that creates an item. */
function maker({ fields, make, create }, renew) {
  const form = element(
    'form',
    { class: 'inline' },
    ...fields,
    element('button', {}, make),
    element('p', { role: 'alert' }),
  )
  onSubmit(form, async (input) => {
    const made = await create(input)
    form.reset()
    await renew(made)
  })
  return form
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
