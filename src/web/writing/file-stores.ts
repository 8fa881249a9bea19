/** Where the files of a text are stored: with their record, or before it exists. */
import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Attachment, PendingUpload } from '../../features/attachments/schema.ts'
import { attachments, ok, sendFile, writeOptions } from '../api.ts'
import type { FileStore } from '../components/text/files.tsx'
import { useWrite } from '../lib/data.ts'

/** The record that holds the files. */
export interface FileHolder {
  kind: Attachment['kind']
  id: string
}

export const filesQuery = ({ kind, id }: FileHolder) =>
  queryOptions({
    queryKey: ['files', kind, id],
    queryFn: async () => (await ok(attachments.uploads.get({ query: { kind, recordId: id, limit: 200 } }))).items,
  })

const removeUpload = (id: string) => ok(attachments.uploads({ id }).delete({}, writeOptions()))

export function useFileStore({ kind, id }: FileHolder): FileStore {
  const cache = useQueryClient()
  return useMemo(() => {
    const refresh = () => cache.invalidateQueries({ queryKey: filesQuery({ kind, id }).queryKey })
    return {
      upload: async (file, onProgress, signal) => {
        const query = new URLSearchParams({ kind, recordId: id, name: file.name })
        const stored = await sendFile<Attachment>(`/api/uploads?${query}`, file, { onProgress, signal })
        void refresh()
        return stored
      },
      remove: (file) => removeUpload(file).finally(() => void refresh()),
    }
  }, [cache, kind, id])
}

/** Stores files for a record that is about to be created, which names them. */
export const pendingStore: FileStore = {
  upload: (file, onProgress, signal) =>
    sendFile<PendingUpload>(`/api/uploads/pending?${new URLSearchParams({ name: file.name })}`, file, {
      onProgress,
      signal,
    }),
  remove: removeUpload,
}

export const useRemoveFile = (holder: FileHolder) => useWrite(removeUpload, filesQuery(holder).queryKey)
