import { pictures } from '../support/pictures.ts'
import type { Visitor } from './support.ts'

const [, , png] = pictures[0] as [string, string, Buffer]

const paste = (who: Visitor, fill: string) =>
  who.page.evaluate(`(() => {
    const data = new DataTransfer()
    ${fill}
    const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
    document.activeElement.dispatchEvent(event)
  })()`)

/** Pastes a text at the focus, as the browser would from its clipboard. */
export const pasteText = (who: Visitor, text: string) =>
  paste(who, `data.setData('text/plain', ${JSON.stringify(text)})`)

/** Pastes a picture at the focus. */
export const pastePicture = (who: Visitor, name: string) =>
  paste(
    who,
    `const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (c) => c.charCodeAt(0))
    data.items.add(new File([bytes], ${JSON.stringify(name)}, { type: 'image/png' }))`,
  )
