CREATE INDEX "sessions_organization" ON "sessions" USING btree ("organization_id");
CREATE INDEX "repositories_of_project" ON "repositories" USING btree ("project_id");
