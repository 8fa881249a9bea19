import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Preferences } from '../../features/users/schema.ts'
import { accounts, ok } from '../api.ts'
import { toast } from '../components/toasts.tsx'
import { type Me, meQuery } from './session.ts'

/** Returns a function that shows or hides the first steps on the home page. The change shows at once. */
export function useFirstSteps(): (firstSteps: 'on' | 'off') => void {
  const cache = useQueryClient()
  const show = (firstSteps: Preferences['firstSteps']) =>
    cache.setQueryData<Me>(meQuery.queryKey, (me) => me && { ...me, preferences: { ...me.preferences, firstSteps } })
  const save = useMutation({
    mutationFn: (firstSteps: 'on' | 'off') => ok(accounts.settings.preferences.patch({ firstSteps })),
    onError: (error) => {
      void cache.invalidateQueries({ queryKey: meQuery.queryKey })
      toast({ title: error.message, bad: true })
    },
  })
  return (firstSteps) => {
    show(firstSteps)
    save.mutate(firstSteps)
  }
}
