import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { SkillCreate, SkillDetail, SkillPatch } from '../../../features/skills/schema.ts'
import { change, ok, skills } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const skillQuery = (id: string) =>
  queryOptions({ queryKey: ['skill', id], queryFn: () => ok(skills.skills({ id }).get()) })

const refresh = (cache: ReturnType<typeof useQueryClient>) =>
  Promise.all([cache.invalidateQueries({ queryKey: ['skill'] }), cache.invalidateQueries({ queryKey: ['skills'] })])

export function useChange({ id, version }: SkillDetail) {
  const cache = useQueryClient()
  return useMutation({
    scope: { id },
    mutationFn: (patch: SkillPatch) => ok(skills.skills({ id }).put(patch, change(version))),
    onSettled: () => refresh(cache),
  })
}

export function useRemove({ id, version }: SkillDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: () => ok(skills.skills({ id }).delete({}, change(version))),
    onSuccess: () => cache.invalidateQueries({ queryKey: ['skills'] }),
  })
}

/** Brings back a skill that was deleted. */
export const restore = (id: string) => ok(skills.skills({ id }).restore.post({}, change()))

export const useCreate = () =>
  useWrite(
    ({ key, ...skill }: SkillCreate & { key: string }) => ok(skills.skills.post(skill, change(undefined, key))),
    ['skill'],
    ['skills'],
  )
