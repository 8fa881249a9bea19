CREATE INDEX "notes_public" ON "notes" USING btree ("created_by_id") WHERE "notes"."scope" = 'public' and "notes"."deleted_at" is null;
CREATE INDEX "notes_public_search" ON "notes" USING gin ("search") WHERE "notes"."scope" = 'public' and "notes"."deleted_at" is null;
CREATE INDEX "projects_public" ON "projects" USING btree ("created_by_id") WHERE "projects"."visibility" = 'public' and "projects"."deleted_at" is null;
