/** The star in the top bar: adds the record of the page to the favourites, or removes it. */
import { Star } from 'lucide-react'
import { useFavourites } from '../account/favourites.ts'
import { words } from '../words.ts'
import { useBreadcrumbs } from './current-page.ts'

/** Returns the id of the record that the page shows, or of the project that it belongs to. */
export const usePageRecord = (): string | undefined => useBreadcrumbs().findLast(({ record }) => record)?.record

export function FavouriteStar() {
  const record = usePageRecord()
  const { ids, toggle } = useFavourites()
  if (!record) return null
  return (
    <button
      type="button"
      className="ib s24 star"
      aria-pressed={ids.includes(record)}
      aria-label={words.favourite}
      title={words.favourite}
      onClick={() => toggle(record)}
    >
      <Star className="i s14" aria-hidden />
    </button>
  )
}
