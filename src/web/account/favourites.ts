/** The favourites of the reader: projects, saved views, tasks, notes and other records. */
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { accounts, ok } from '../api.ts'
import { toast } from '../components/toasts.tsx'
import { words } from '../words.ts'
import { favouritesQuery, type Me, meQuery } from './session.ts'

const MOST = 50
const none: readonly string[] = []

/** Returns the favourites, and a function that adds or removes one. The change of `ids` shows at once. */
export function useFavourites() {
  const cache = useQueryClient()
  const ids = useSuspenseQuery(meQuery).data.preferences.favourites ?? none
  const found = useQuery({ ...favouritesQuery, enabled: ids.length > 0 }).data ?? []
  const show = (favourites: readonly string[]) =>
    cache.setQueryData<Me>(
      meQuery.queryKey,
      (me) => me && { ...me, preferences: { ...me.preferences, favourites: [...favourites] } },
    )
  const save = useMutation({
    mutationFn: (favourites: string[]) => ok(accounts.settings.preferences.patch({ favourites })),
    onSuccess: () => cache.invalidateQueries(favouritesQuery),
    onError: (error) => {
      show(ids)
      toast({ title: error.message, bad: true })
    },
  })
  const toggle = (id: string) => {
    // Records that no longer exist make room for new ones.
    const kept = ids.length < MOST ? ids : ids.filter((one) => found.some((record) => record.id === one))
    const favourites = ids.includes(id) ? ids.filter((one) => one !== id) : [...kept, id]
    if (favourites.length > MOST) {
      toast({ title: words.fullFavourites, bad: true })
      return
    }
    show(favourites)
    save.mutate(favourites)
  }
  return { ids, items: found.filter(({ id }) => ids.includes(id)), toggle }
}
