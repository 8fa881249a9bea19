CREATE INDEX "views_project" ON "views" USING btree ("project_id");
