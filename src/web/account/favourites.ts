/** The favourite projects of the reader. */
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { accounts, ok } from '../api.ts'
import { toast } from '../components/toasts.tsx'
import { type Me, meQuery } from './session.ts'

const none: readonly string[] = []

/** Returns the ids of the favourites, and a function that adds or removes one. The change shows at once. */
export function useFavourites() {
  const cache = useQueryClient()
  const ids = useSuspenseQuery(meQuery).data.preferences.favourites ?? none
  const show = (favourites: readonly string[]) =>
    cache.setQueryData<Me>(
      meQuery.queryKey,
      (me) => me && { ...me, preferences: { ...me.preferences, favourites: [...favourites] } },
    )
  const save = useMutation({
    mutationFn: (favourites: string[]) => ok(accounts.settings.preferences.patch({ favourites })),
    onError: (error) => {
      show(ids)
      toast({ title: error.message, bad: true })
    },
  })
  const toggle = (id: string) => {
    const favourites = ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]
    show(favourites)
    save.mutate(favourites)
  }
  return { ids, toggle }
}
