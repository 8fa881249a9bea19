import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AiSession, AiSessionCreate, ProposalAnswer } from '../../../features/assistant/schema.ts'
import { assistant, ok, repositories, writeOptions } from '../../api.ts'

/** Chats that the list shows; older ones are found by their titles. */
const SHOWN = 40

export const chatsQuery = (search: string) =>
  queryOptions({
    queryKey: ['chats', search],
    queryFn: () => ok(assistant.ai.sessions.get({ query: { limit: SHOWN, ...(search && { search }) } })),
  })

export const chatQuery = (id: string) =>
  queryOptions({ queryKey: ['chat', id], queryFn: () => ok(assistant.ai.sessions({ id }).get()) })

export const messagesQuery = (id: string) =>
  queryOptions({
    queryKey: ['chat', id, 'messages'],
    queryFn: () => ok(assistant.ai.sessions({ id }).messages.get({ query: { limit: 200 } })),
  })

export const assistantStatusQuery = (team: string) =>
  queryOptions({ queryKey: ['assistant', team], queryFn: () => ok(assistant.ai.status.get()) })

export const repositoryQuery = (id: string) =>
  queryOptions({ queryKey: ['repository', id], queryFn: () => ok(repositories.repos({ id }).get()) })

export function useStartChat() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (about: AiSessionCreate) => ok(assistant.ai.sessions.post(about, writeOptions())),
    onSuccess: () => cache.invalidateQueries({ queryKey: ['chats'] }),
  })
}

export function useRenameChat({ id, version }: AiSession) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (title: string) => ok(assistant.ai.sessions({ id }).rename.patch({ title }, writeOptions(version))),
    onSettled: () => refreshChat(cache, id),
  })
}

export function useRemoveChat({ id }: AiSession) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: () => ok(assistant.ai.sessions({ id }).delete(undefined, writeOptions())),
    onSuccess: () => {
      cache.removeQueries({ queryKey: ['chat', id] })
      return cache.invalidateQueries({ queryKey: ['chats'] })
    },
  })
}

export function useAnswerProposal(id: string, messageId: string, n: number) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (answer: ProposalAnswer) =>
      ok(assistant.ai.sessions({ id }).messages({ messageId }).proposals({ n }).post(answer, writeOptions())),
    onSettled: () => refreshChat(cache, id),
  })
}

/** Reloads a chat. A load that is still running is cancelled, because it could be without the change. */
export const refreshChat = async (cache: ReturnType<typeof useQueryClient>, id: string): Promise<void> => {
  await cache.cancelQueries({ queryKey: ['chat', id] })
  await Promise.all([
    cache.invalidateQueries({ queryKey: ['chat', id] }),
    cache.invalidateQueries({ queryKey: ['chats'] }),
  ])
}
