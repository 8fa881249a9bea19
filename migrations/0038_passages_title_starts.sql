CREATE INDEX "passages_title_starts" ON "passages" USING btree (lower(left(title, 64)) collate "C") WHERE "passages"."chunk" = 0;
